// Which inputs each task draws, and how likely each is: all of them written out, by code as close to the words of the
// specification as it can be. For short lengths only.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace longreach::trainer::tasks {

// Input tokens, a byte each, and their probability; they sum to 1.
using Distribution = std::map<std::string, double>;

// Of lengths 1 to LongestExact().
Distribution ExactInputs(std::string_view task, int requested_length);

// 8, or less for a task of so many tokens that they cannot all be written out.
int LongestExact(std::string_view task);

// Of tokens of dyck, by taking out what is closed at once until nothing is left.
bool IsBalanced(std::string text);

// The value modulo 5 of an expression written as characters, by recursive descent.
int ValueOf(std::string_view expression);

// Tokens of modular_arithmetic_brackets or solve_equation as characters: digits, + - * ( ) x =.
std::string AsCharacters(std::string_view task, std::string_view tokens);

}  // namespace longreach::trainer::tasks

// A trainer that crashes takes all that share its process with it. That it was this one is the last thing that its thread says. Threads that help it, and
// one that has no stack left, say nothing: nobody knows whose crash that was.
#pragma once

namespace longreach::agent {

// From now on, a thread that SIGSEGV and its like are about to end sends TrainerCrashing over its trainer's pipe first. Once, in a process.
void SayWhoCrashes();

// The calling thread is that of the trainer with this pipe.
void CrashesAreOf(int pipe);

}  // namespace longreach::agent

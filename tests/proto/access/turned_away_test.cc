#include "proto/access/turned_away.h"

#include <gtest/gtest.h>

namespace longreach::access {
namespace {

TEST(TurnedAwayTest, TheAnswerOfAFullSchedulerIsHttpAndSaysHowManyConnectionsItHas) {
  const std::string answer = FullAnswer(20'000);

  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 "));
  const size_t body = answer.find("\r\n\r\n") + 4;
  EXPECT_NE(answer.find("\r\nContent-Length: " + std::to_string(answer.size() - body) + "\r\n"), std::string::npos) << answer;
  EXPECT_EQ(ConnectionsOfFull(answer), 20'000u);
  EXPECT_EQ(ConnectionsOfFull(FullAnswer(0)), 0u);
}

TEST(TurnedAwayTest, NothingElseIsTakenForIt) {
  const std::string answer = FullAnswer(16);
  EXPECT_EQ(ConnectionsOfFull(""), std::nullopt);
  EXPECT_EQ(ConnectionsOfFull(answer.substr(0, answer.size() - 5)), std::nullopt) << "not all of it";
  EXPECT_EQ(ConnectionsOfFull(answer.substr(1)), std::nullopt);
  EXPECT_EQ(ConnectionsOfFull("HTTP/1.1 503 Service Unavailable\r\n\r\nsorry"), std::nullopt) << "a web server";
  EXPECT_EQ(ConnectionsOfFull("HTTP/1.1 503 Service Unavailable\r\n\r\nthis longreach-scheduler has -1 connections, and takes no more\n"), std::nullopt);
  EXPECT_EQ(ConnectionsOfFull("HTTP/1.1 503 Service Unavailable\r\n connections, and takes no more\nthis longreach-scheduler has 1"), std::nullopt);
  EXPECT_EQ(ConnectionsOfFull(FullAlert()), std::nullopt);
}

// A record that OpenSSL takes for the fatal alert 80 before any handshake.
TEST(TurnedAwayTest, TheAlertIsOneRecord) { EXPECT_EQ(FullAlert(), std::string("\x15\x03\x01\x00\x02\x02\x50", 7)); }

// The texts are gRPC 1.51's with OpenSSL 3, as they came.
TEST(TurnedAwayTest, HowATryToConnectEndedIsInGrpcsText) {
  const auto end = [](const std::string& last) { return ConnectEndOf("failed to connect to all addresses; last error: " + last); };
  EXPECT_EQ(end("UNAVAILABLE: ipv4:127.0.0.1:17812: Trying to connect an http1.x server"), ConnectEnd::kTurnedAway);
  EXPECT_EQ(end("UNKNOWN: ipv4:127.0.0.1:17812: Ssl handshake failed: SSL_ERROR_SSL: error:0A000438:SSL routines::tlsv1 alert internal error"), ConnectEnd::kAlert);
  EXPECT_EQ(end("UNKNOWN: ipv4:127.0.0.1:17999: Failed to connect to remote host: Connection refused"), ConnectEnd::kNobody);
  EXPECT_EQ(end("UNKNOWN: unix:/tmp/none.sock: No such file or directory"), ConnectEnd::kNobody);
  EXPECT_EQ(end("UNAVAILABLE: ipv4:127.0.0.1:17813: Socket closed"), ConnectEnd::kClosed);
  EXPECT_EQ(end("UNAVAILABLE: unix:/tmp/many.sock: Broken pipe"), ConnectEnd::kClosed);
  EXPECT_EQ(end("UNKNOWN: ipv4:127.0.0.1:17812: Ssl handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number"), ConnectEnd::kOther);
  EXPECT_EQ(ConnectEndOf("Deadline Exceeded"), ConnectEnd::kOther);
}

// So it comes to the call that a worker has open while its scheduler is killed: nothing is known of who is there now.
TEST(TurnedAwayTest, ACallThatBreaksOffSaysNothingOfWhoIsThere) {
  EXPECT_EQ(ConnectEndOf("Socket closed"), ConnectEnd::kOther);
  EXPECT_EQ(ConnectEndOf("recvmsg:Connection reset by peer"), ConnectEnd::kOther);
  EXPECT_EQ(ConnectEndOf("Broken pipe"), ConnectEnd::kOther);
}

TEST(TurnedAwayTest, OnlyWhereSomebodyIsThereALogSaysSo) {
  EXPECT_NE(MeaningOf(ConnectEnd::kTurnedAway).find("as many connections as it takes"), std::string_view::npos);
  EXPECT_NE(MeaningOf(ConnectEnd::kAlert).find("as many connections as it takes"), std::string_view::npos);
  EXPECT_NE(MeaningOf(ConnectEnd::kClosed).find("closed the connection"), std::string_view::npos);
  EXPECT_EQ(MeaningOf(ConnectEnd::kNobody), "");
  EXPECT_EQ(MeaningOf(ConnectEnd::kOther), "");
}

}  // namespace
}  // namespace longreach::access

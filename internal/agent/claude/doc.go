// Package claude runs Claude Code as the agent: the real program, with JSON lines in both directions. The package
// selects the session, resumes the one of an earlier attempt, delivers messages and interrupts to the running turn, and
// reports what the program does.
//
// The protocol was measured on versions 2.1.197 and 2.1.328; `make claude-test` runs both against a scripted model.
// testdata/recorded holds their output, which a fake program replays in other tests. Unknown lines and keys are passed
// on.
package claude

// Package claude runs Claude Code as the agent: the real program, spoken to by lines of JSON in
// both directions. It chooses the session, goes on with the one of an earlier attempt, brings
// messages and interrupts to the turn that is under way, and reports what the program does.
//
// What is built on was measured on versions 2.1.197 and 2.1.328; `make claude-test` runs both
// against a scripted model. testdata/recorded is what they printed there: a fake program plays it
// where the real one is not. Lines and keys that are not known are let through.
package claude

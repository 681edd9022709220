// Package checkpoints takes checkpoints of an agent's workspace, sends them to the API, and restores a checkpoint of an
// earlier attempt.
//
// A checkpoint is a commit in a repository of omoi-agent's own, a shadow of the workspace. Its tree has up to three
// entries: work holds all files that are not ignored, byte for byte; index holds the tree of the Git index, if it
// differs from the head; state holds the branches, and the files of an unfinished merge or rebase. Its parents are the
// head and the commits that no other checkpoint needs. The same work gives the same commit.
//
// A checkpoint is sent in this order: the transcript, the events, the pack, the seal. The API therefore never has a
// checkpoint whose transcript or events it lacks.
package checkpoints

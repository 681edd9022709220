// Package review compares the files of a task: its base, the results of its attempts, and checkpoints. A comparison needs the
// repository's host and the stored packs only, so that each API process can answer.
//
// Git does the work, in a repository of omoi's own for each task, which holds the objects of the points that were asked for. Nobody
// writes files or refs there, and its configuration is omoi's: no hook, filter or program of a repository or an agent runs.
package review

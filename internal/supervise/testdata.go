package supervise

import "embed"

// Recorded holds the trajectories of testdata/corpus and the pairs of tasks beside it, which
// package corpus reads, and the score that was reached on them.
//
//go:embed testdata/corpus testdata/pairs.jsonl testdata/score.json
var Recorded embed.FS

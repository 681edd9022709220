package supervise

import "embed"

// Recorded holds the trajectories of testdata/corpus and testdata/validation, the pairs of tasks and the recorded scores.
// Package corpus reads them.
//
//go:embed testdata/corpus testdata/validation testdata/first-scores.jsonl testdata/pairs.jsonl testdata/score.json
var Recorded embed.FS

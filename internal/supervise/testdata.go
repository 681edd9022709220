package supervise

import "embed"

// Recorded holds the trajectories of testdata/corpus, the pairs of tasks and the recorded score. Package corpus reads
// them.
//
//go:embed testdata/corpus testdata/pairs.jsonl testdata/score.json
var Recorded embed.FS

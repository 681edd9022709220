package supervise

import "embed"

// Recorded holds the trajectories of testdata/corpus, which package corpus reads, and the score
// that was reached on them.
//
//go:embed testdata/corpus testdata/score.json
var Recorded embed.FS

package supervise

import "context"

// WorkText is a piece of work in words, as a model is shown it.
type WorkText struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Phase       string   `json:"phase,omitempty"`
	Focus       string   `json:"current_focus,omitempty"` // what its agent is at
	Files       []string `json:"changed_files,omitempty"`
}

// Comparison is what a model says of two pieces of work.
type Comparison struct {
	Duplicate  bool    `json:"is_duplicate"`
	Similarity float64 `json:"similarity_score"`
	Work       string  `json:"work_description"` // what both are about, or what tells them apart
	Confidence float64 `json:"confidence"`
}

// DuplicateSimilarity is how alike two works are at least that a model calls the same: the
// replaced system's number.
const DuplicateSimilarity = 0.7

// Says reports whether both are the same work, and whether that is sure enough to count.
func (c Comparison) Says(confidence float64) (same, sure bool) {
	return c.Duplicate && c.Similarity > DuplicateSimilarity, c.Confidence >= confidence
}

// Comparer understands whether two pieces of work are the same. What it costs is told also beside an error.
type Comparer interface {
	Compare(ctx context.Context, a, b WorkText) (Comparison, ModelUse, error)
}

package guardian

import "time"

// Cycle is one run of the guardian over all active sandboxes.
type Cycle struct {
	ID        string     `json:"id"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"` // null: under way, or nobody brought it to its end
	Active    int        `json:"active"`
	Judged    int        `json:"judged"`
	Standing  int        `json:"standing"` // whose last judgement still stands
	Failed    int        `json:"failed"`   // that could not be judged
	Acted     int        `json:"acted"`    // interventions that were sent
}

// Cycles are the runs of the guardian taken together.
type Cycles struct {
	Last      *Cycle        `json:"last"` // null: it never ran
	LastAge   time.Duration `json:"-"`    // since the last one came to its end; below 0: none did
	Total     int64         `json:"total"`
	Succeeded int64         `json:"succeeded"` // came to their end, and could judge every sandbox
	Failed    int64         `json:"failed"`
}

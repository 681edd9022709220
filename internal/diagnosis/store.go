package diagnosis

import (
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
)

// Request is a task in which something failed, for somebody to look at.
type Request struct {
	TaskID  string
	Changed int64 // failures that were noted when it was taken
}

// DueDelivery is a webhook that is to be tried now.
type DueDelivery struct {
	ID    string
	Body  string
	Tries int // with this one
	Age   time.Duration
}

// KeptDiagnosis is a diagnosis with the webhook that tells of it.
type KeptDiagnosis struct {
	explain.Diagnosis

	DeliveryID string
	Body       string // empty: nobody is told
}

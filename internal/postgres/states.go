package postgres

import (
	"cmp"

	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// storedNames maps names in the API to the stored values of a column, where they differ. Stored values are frozen with
// the schema.
type storedNames map[string]string

func (n storedNames) stored(named string) string { return cmp.Or(n[named], named) }

func (n storedNames) named(stored string) string {
	for named, value := range n {
		if value == stored {
			return named
		}
	}
	return stored
}

// feedbackNames applies to the states of feedback and of notices.
func feedbackNames() storedNames {
	return storedNames{feedback.StatePending: "held", feedback.StateAcknowledged: "heard", feedback.StateTaskCreated: "started"}
}

func messageNames() storedNames {
	return storedNames{ingest.MessageAcknowledged: "taken_up", ingest.MessageRejected: "refused"}
}

func deliveryNames() storedNames {
	return storedNames{explain.DeliveryPending: "held", explain.DeliveryDelivered: "done", explain.DeliveryFailed: "given_up"}
}

func interventionNames() storedNames { return storedNames{guardian.InterventionRejected: "refused"} }

// sourceNames applies to the source of a duplicate.
func sourceNames() storedNames { return storedNames{conductor.SourceText: "words"} }

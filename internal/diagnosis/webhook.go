package diagnosis

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// Notice is the body of a webhook, which package notice sends.
type Notice struct {
	ID        string            `json:"id"`    // the same in every try
	Event     string            `json:"event"` // diagnosis
	CreatedAt time.Time         `json:"created_at"`
	Diagnosis explain.Diagnosis `json:"diagnosis"`
}

// body returns the body of a webhook and its ID; empty without a receiver.
func (s *Service) body(d explain.Diagnosis) (id, body string, err error) {
	if !s.cfg.Webhook {
		return "", "", nil
	}
	id = task.NewID()
	raw, err := json.Marshal(Notice{ID: id, Event: "diagnosis", CreatedAt: d.CreatedAt, Diagnosis: d})
	if err != nil {
		return "", "", fmt.Errorf("write the webhook of task %s: %w", d.TaskID, err)
	}
	return id, string(raw), nil
}

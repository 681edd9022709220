package postgres

import (
	"context"
	"encoding/json"

	"github.com/omoi-dev/omoi/internal/sandboxwatch"
)

var _ sandboxwatch.Store = (*Store)(nil)

// SandboxesAtWork implements [sandboxwatch.Store].
func (s *Store) SandboxesAtWork(ctx context.Context, hostID, provider string) ([]sandboxwatch.Box, error) {
	rows, err := s.q.SandboxesAtWork(ctx, provider, hostID)
	if err != nil {
		return nil, translate("list active sandboxes", err)
	}
	boxes := make([]sandboxwatch.Box, 0, len(rows))
	for _, r := range rows {
		box := sandboxwatch.Box{TaskID: r.TaskID, Silent: r.Silent}
		// otherwise its provider does not know the sandbox
		if json.Unmarshal(r.Labels, &box.Labels) == nil && box.Labels.SandboxID == r.ID {
			boxes = append(boxes, box)
		}
	}
	return boxes, nil
}

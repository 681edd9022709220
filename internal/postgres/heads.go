package postgres

import "context"

// SandboxHead answers the number of the newest event of a sandbox; of an unknown one 0.
func (s *Store) SandboxHead(ctx context.Context, sandboxID string) (int64, error) {
	heads, err := s.q.SandboxHead(ctx, sandboxID)
	if err != nil || len(heads) == 0 {
		return 0, translate("read the head of sandbox "+sandboxID, err)
	}
	return heads[0], nil
}

// TaskHeads answers likewise of each attempt of a task.
func (s *Store) TaskHeads(ctx context.Context, taskID string) (map[int]int64, error) {
	boxes, err := s.q.TaskSandboxes(ctx, &taskID)
	heads := make(map[int]int64, len(boxes))
	for _, box := range boxes {
		heads[int(box.Attempt)] = max(heads[int(box.Attempt)], box.LastSequence)
	}
	return heads, translate("read the heads of task "+taskID, err)
}

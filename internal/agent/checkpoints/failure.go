package checkpoints

import (
	"context"
	"errors"
	"syscall"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/event"
)

// Reasons of [event.AgentCheckpointFailed].
const (
	reasonDisk       = "disk_full"
	reasonRejected   = "rejected"
	reasonTimeout    = "timeout"
	reasonTooLarge   = "too_large"
	reasonUnreadable = "unreadable"
)

// fail reports why a checkpoint failed, once for each reason until the API has one, and returns err. Failures to reach the API are
// not reported, since no event reaches it either.
func (k *Keeper) fail(ctx context.Context, err error) error {
	reason := reasonOf(err)
	if errors.Is(ctx.Err(), context.Canceled) || k.told[reason] {
		return err
	}
	k.told[reason] = true
	k.cfg.Report.Emit(event.AgentCheckpointFailed, Failure(k.state.Begun, err))
	return err
}

// Failure returns the data of [event.AgentCheckpointFailed] for the newest checkpoint that was begun.
func Failure(number int, err error) map[string]any {
	return map[string]any{"checkpoint": number, "reason": reasonOf(err), "error": err.Error()}
}

func reasonOf(err error) string {
	_, refused := errors.AsType[*refusedError](err)
	switch {
	case refused:
		return reasonRejected
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return reasonDisk
	case errors.Is(err, checkpoint.ErrInflates) || errors.Is(err, errLarge):
		return reasonTooLarge
	case errors.Is(err, context.DeadlineExceeded):
		return reasonTimeout
	}
	return reasonUnreadable
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
)

// Sleep of the machine does not stop a component, since omoi did not run either.
func TestAttend_SleepOfTheMachineIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		looks := 0
		p := part{cfg: withDefaults(Config{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}), answers: func(context.Context) error {
			switch looks++; looks {
			case 1, 2:
				<-time.After(8 * time.Hour) // the machine sleeps during the check
				return errors.New("the connection broke")
			case 5:
				end()
			}
			return nil
		}}
		c := &child{done: make(chan struct{})} // without a process: stop would panic
		p.attend(life, c)
		require.Equal(t, 5, looks)
	})
}

// An error answer does not stop a component, since a restart would not change it.
func TestAttend_ErrorAnswerIsNotSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		looks := 0
		p := part{cfg: withDefaults(Config{Log: slog.New(slog.DiscardHandler)}), answers: func(context.Context) error {
			if looks++; looks == 100 {
				end()
			}
			return fmt.Errorf("ask: %w", serviceerror.NewResourceExhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "limit"))
		}}
		p.attend(life, &child{done: make(chan struct{})}) // without a process: stop would panic
		require.Equal(t, 100, looks)
	})
}

func TestAttend_ReturnsHowAComponentEnded(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"exit status 0": nil, "signal: killed": errors.New("signal: killed")} {
		c := &child{done: make(chan struct{}), err: err}
		close(c.done)
		require.Equal(t, want, part{cfg: withDefaults(Config{Log: slog.New(slog.DiscardHandler)})}.attend(t.Context(), c))
	}
}

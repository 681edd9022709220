package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestEveryErrorIsTranslated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		kind  string
		code  task.Code
		final bool
	}{
		"invalid":     {task.Invalid("x", "wrong"), "invalid_input", task.CodeInvalid, true},
		"unauth":      {task.Errorf(task.CodeUnauthorized, "who"), "credentials", task.CodeUnauthorized, false},
		"forbidden":   {task.Errorf(task.CodeForbidden, "no"), "credentials", task.CodeForbidden, true},
		"not found":   {task.Errorf(task.CodeNotFound, "none"), "not_found", task.CodeNotFound, true},
		"conflict":    {task.Errorf(task.CodeConflict, "two"), "conflict", task.CodeConflict, true},
		"gone":        {task.Errorf(task.CodeGone, "over"), "gone", task.CodeGone, true},
		"exhausted":   {task.Errorf(task.CodeExhausted, "full"), "exhausted", task.CodeExhausted, false},
		"unavailable": {task.Errorf(task.CodeUnavailable, "down"), "unavailable", task.CodeUnavailable, false},
		"no code":     {errors.New("odd"), "internal", task.CodeInternal, false},
		"deadline":    {fmt.Errorf("call: %w", context.DeadlineExceeded), "unavailable", task.CodeUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			fails := func(context.Context, contract.SandboxRef) error { return fmt.Errorf("do it: %w", c.err) }
			err := act(b, fails, b.ref())
			app, details := refused(t, err)
			require.Equal(t, c.kind, app.Type())
			require.Equal(t, c.code, details.Code)
			require.Equal(t, c.final, app.NonRetryable())
			require.Equal(t, "text-1", details.ErrorID)
			require.Contains(t, b.store.texts["text-1"], "do it: ")
			require.Contains(t, app.Message(), "text-1")
		})
	}
}

func TestNoSecretInAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.Secrets = []string{"planted-secret"}
	cause := errors.New("dial postgres://u:planted-secret@db with sk-1234567890 " + strings.Repeat("long ", 200))
	fails := func(context.Context) error { return fmt.Errorf("read: %w", cause) }
	app, details := refused(t, act(b, fails))
	for _, text := range []string{app.Message(), app.Error(), b.store.texts[details.ErrorID]} {
		require.NotContains(t, text, "planted-secret")
		require.NotContains(t, text, "sk-1234567890")
	}
	require.LessOrEqual(t, len([]rune(app.Message())), 200+len("internal: ")+len(" (error text-1)"))
	require.NoError(t, app.Unwrap(), "a cause would carry its text into the history")
	require.Greater(t, len(b.store.texts[details.ErrorID]), 500, "the store has it all")
}

func TestPrivateCauseStaysInTheStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fails := func(context.Context) error {
		return task.Errorf(task.CodeUnavailable, "The store is down.").WithCause(errors.New("table texts of host db7"))
	}
	app, details := refused(t, act(b, fails))
	require.NotContains(t, app.Message(), "db7")
	require.Contains(t, b.store.texts[details.ErrorID], "db7")
}

func TestErrors_PassWithoutTheStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.textErr = errors.New("database is down")
	app, details := refused(t, act(b, func(context.Context) error { return task.Invalid("x", "wrong") }))
	require.Empty(t, details.ErrorID)
	require.Equal(t, "invalid: wrong", app.Message())
}

func TestErrors_PanicIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	app, details := refused(t, act(b, func(context.Context) error { panic("index ghp_0123456789abcdef out of range") }))
	require.False(t, app.NonRetryable())
	require.NotContains(t, app.Message(), "ghp_")
	require.NotContains(t, app.Message(), "goroutine")
	require.Contains(t, b.store.texts[details.ErrorID], "errors_test.go", "the stack is stored")
}

func TestErrors_CancelStaysACancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := act(b, func(context.Context) error { return temporal.NewCanceledError() })
	require.ErrorContains(t, err, "canceled")
	require.Empty(t, b.store.texts, "it is no error: nothing is stored")
	var app *temporal.ApplicationError
	require.True(t, !errors.As(err, &app) || !app.HasDetails(), "no application error of ours: %v", err)
}

// Programs that are ended with their activity fail in many ways: none of these is the task's fault.
func TestErrors_OfAnEndedActivityAreCancelsOrRetried(t *testing.T) {
	t.Parallel()
	fails := func(context.Context) error {
		return fmt.Errorf("write: %w", task.Invalid("path", "the sandbox does not let omoi write").WithCause(errors.New("signal: killed")))
	}
	ended := func(cause error) (*bench, error) {
		b := newBench(t)
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		env := b.env()
		env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx, Interceptors: []interceptor.WorkerInterceptor{b.activities().Errors()}})
		_, err := execute[any](env, fails)
		return b, err
	}
	b, err := ended(temporal.NewCanceledError())
	require.True(t, temporal.IsCanceledError(err), "%v", err)
	require.Empty(t, b.store.texts, "a cancel is no error: nothing is stored")
	require.Zero(t, b.cut)

	b, err = ended(serviceerror.NewDeadlineExceeded("no answer to a heartbeat"))
	require.Equal(t, 1, b.cut)
	app, details := refused(t, err)
	require.False(t, app.NonRetryable())
	require.Equal(t, task.CodeUnavailable, details.Code)
	require.Equal(t, task.ClassNone, details.Class)
}

func TestErrors_WorkerStopIsRetried(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	app, details := refused(t, act(b, func(context.Context) error { return fmt.Errorf("read: %w", context.Canceled) }))
	require.False(t, app.NonRetryable())
	require.Equal(t, task.CodeUnavailable, details.Code)
}

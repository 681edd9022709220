package exit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestReport(t *testing.T) {
	t.Parallel()
	cause := errors.New("private")
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("plain"), 1, "omoi: plain\n"},
		{exit.Usagef("wrong %s", "flag"), 2, "omoi: wrong flag\n"},
		{fmt.Errorf("ask: %w", task.Errorf(task.CodeUnavailable, "No server.").WithCause(cause)), 3, "omoi: No server.\n"},
		{task.Errorf(task.CodeUnauthorized, "Who are you?"), 4, "omoi: Who are you?\n"},
		{task.Invalid("title", "Too long."), 2, "omoi: Too long.\n"},
		{task.Errorf(task.CodeConflict, "Done already."), 1, "omoi: Done already.\n"},
		{fmt.Errorf("wait: %w", context.Canceled), 130, ""},
		{errors.Join(nil, exit.With(exit.Budget, nil)), 5, ""},
	} {
		var out bytes.Buffer
		require.Equal(t, c.code, exit.Report(&out, c.err, false))
		require.Equal(t, c.text, out.String())
	}
	var out bytes.Buffer
	exit.Report(&out, task.Invalid("title", "Too long.").WithCause(cause), true)
	require.JSONEq(t, `{"error":"Too long.","code":"invalid","field":"title","exit_code":2}`, out.String())
}

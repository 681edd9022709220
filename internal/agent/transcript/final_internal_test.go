package transcript

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestFinal(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{301: false, 401: false, 403: true, 404: true, 408: false, 409: true, 413: true, 429: false, 503: false} {
		require.Equal(t, want, final(apiclient.Answer{Status: status, Code: task.CodeInvalid}), status)
		require.False(t, final(apiclient.Answer{Status: status}), "a refusal of something on the way")
	}
}

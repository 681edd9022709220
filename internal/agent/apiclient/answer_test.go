package apiclient_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
)

func TestAnswer_Later(t *testing.T) {
	t.Parallel()
	for status, later := range map[int]bool{
		200: false, 301: true, 401: false, 404: false, 408: true, 409: false, 413: false, 429: true, 500: true, 503: true,
	} {
		require.Equal(t, later, apiclient.Answer{Status: status}.Later(), status)
	}
}

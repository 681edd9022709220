package inbox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestAsk_AnswersOfProxies checks that an answer which is not from omoi decides nothing, for example of a proxy while
// the API is down.
func TestAsk_AnswersOfProxies(t *testing.T) {
	t.Parallel()
	foreign := []apiclient.Answer{
		{Status: http.StatusNotFound, Body: []byte("404 page not found")},
		{Status: http.StatusMethodNotAllowed},
		{Status: http.StatusBadRequest},
		{Status: http.StatusForbidden},
		{Status: http.StatusFound},
		{Status: http.StatusOK, Body: []byte("<html>")},
		{Status: http.StatusRequestTimeout, Code: task.CodeUnavailable},
	}
	for _, last := range []struct {
		answer apiclient.Answer
		used   string
	}{
		{apiclient.Answer{Status: http.StatusOK, Body: []byte(`{"settled":true}`)}, "1"},
		{apiclient.Answer{Status: http.StatusOK, Body: []byte(`{"settled":false}`)}, "2"},
		{apiclient.Answer{Status: http.StatusNotFound, Code: task.CodeNotFound}, "2"},
	} {
		a := &answers{say: func(n int) (apiclient.Answer, error) {
			switch {
			case n <= len(foreign):
				return foreign[n-1], nil
			case n == len(foreign)+1:
				return last.answer, nil
			}
			return apiclient.Answer{Status: http.StatusOK, Body: []byte(`{"settled":true}`)}, nil
		}}
		box, _, stop := over(t, a, t.TempDir())
		m, err := box.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, last.used, m.ID)
		stop()
		for _, path := range a.paths[:len(foreign)+1] {
			require.Contains(t, path, "/messages/1/ack?taker=")
		}
	}
}

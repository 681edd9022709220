package feedback_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/feedback"
)

func TestMayChangeNothing(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		``:                                     `{"env":{"REQUIRE_CHANGES":"false"}}`,
		`null`:                                 `{"env":{"REQUIRE_CHANGES":"false"}}`,
		`{"mine":1,"env":{"A":"b"}}`:           `{"mine":1,"env":{"A":"b","REQUIRE_CHANGES":"false"}}`,
		`{"env":{"REQUIRE_CHANGES":"true"}}`:   `{"env":{"REQUIRE_CHANGES":"true"}}`,
		`{"env":{"REQUIRE_CHANGES":"false"}}`:  `{"env":{"REQUIRE_CHANGES":"false"}}`,
		`{"env":null,"test_command":"make x"}`: `{"env":{"REQUIRE_CHANGES":"false"},"test_command":"make x"}`,
	} {
		require.JSONEq(t, want, string(feedback.MayChangeNothing(json.RawMessage(config))), config)
	}
	require.Equal(t, `[1]`, string(feedback.MayChangeNothing(json.RawMessage(`[1]`))))
}

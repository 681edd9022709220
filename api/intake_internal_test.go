package api

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/client"
)

func TestAnAnswerThatIsWrittenByHandIsThatOfItsType(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"", "a", `"quoted" \ <b>&amp;`, "日本 \u2028 \x01 \t"} {
		for _, id := range []*string{nil, &odd} {
			said := client.ReceivedEvent{Status: "received", SandboxID: odd, EventType: odd, EventID: id, Timestamp: time.Now().UTC()}
			want, err := json.Marshal(said)
			require.NoError(t, err)
			got, err := encode(said)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got))
		}
	}
}

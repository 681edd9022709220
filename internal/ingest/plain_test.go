package ingest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// TestList_EscapedText shows the same text in a list whether its sender escaped it or not.
func TestList_EscapedText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake := b.intake(ingest.IntakeConfig{}, nil)
	box := b.sandbox()
	for text, escaped := range map[string]string{
		strings.Repeat("漢", 5000): strings.Repeat(`\u6f22`, 5000), strings.Repeat("a😀", 3000): strings.Repeat(`\u0061\ud83d\ude00`, 3000),
		strings.Repeat(`\"\n`, 4000): strings.Repeat(`\u0022\u000a`, 4000), strings.Repeat("漢", 6000): strings.Repeat(`\u6f22`, 6000),
	} {
		plain, _ := b.report(intake, box, "agent.message", json.RawMessage(`{"content":"`+text+`"}`))
		other, whole := b.report(intake, box, "agent.message", json.RawMessage(`{"content":"`+escaped+`"}`))
		require.Equal(t, plain.Omitted, other.Omitted, len(text))
		require.JSONEq(t, string(plain.Data), string(other.Data), len(text))
		require.JSONEq(t, `{"content":"`+text+`"}`, string(whole.Data), len(text))
		require.Equal(t, len(text) > ingest.LargeField, len(other.Omitted) > 0, len(text))
	}
}

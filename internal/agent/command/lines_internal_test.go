package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSieve checks that all output which is not an event line is kept, however it is split into writes.
func TestSieve(t *testing.T) {
	t.Parallel()
	const good = `{"omoi":"event","event_type":"agent.message","event_data":{"content":"x"}}`
	long := `{"omoi":"event","event_type":"agent.message","event_data":{"content":"` + strings.Repeat("x", maxLine) + `"}}`
	for name, c := range map[string]struct {
		line string
		is   bool
	}{
		"event":            {good, true},
		"other order":      {`{"event_data": null, "event_type": "spec.criterion_met", "omoi": "event"}`, true},
		"unknown keys":     {`{"omoi":"event","event_type":"from.the_future","x":1}`, true},
		"indented":         {` ` + good, false},
		"no mark":          {`{"event_type":"agent.message","event_data":{}}`, false},
		"another mark":     {`{"omoi":"message","event_type":"agent.message"}`, false},
		"no type":          {`{"omoi":"event"}`, false},
		"a strange type":   {`{"omoi":"event","event_type":"Agent Message"}`, false},
		"ours":             {`{"omoi":"event","event_type":"agent.shutdown","event_data":{}}`, false},
		"ours too":         {`{"omoi":"event","event_type":"agent.waiting","event_data":{}}`, false},
		"data is a list":   {`{"omoi":"event","event_type":"agent.message","event_data":[]}`, false},
		"half":             {good[:40], false},
		"more behind it":   {good + " {}", false},
		"too long":         {long, false},
		"a log of another": {`{"level":"info","msg":"x"}`, false},
		"words":            {"hello", false},
		"empty":            {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := "before\n" + c.line + "\nafter, without an end"
			for _, size := range []int{1 << 20, 7} {
				if len(text) > maxLine && size == 7 {
					continue
				}
				var rest bytes.Buffer
				var got []*eventLine
				s := &sieve{rest: &rest, take: func(e *eventLine) { got = append(got, e) }}
				for at := 0; at < len(text); at += size {
					n, err := s.Write([]byte(text[at:min(at+size, len(text))]))
					require.NoError(t, err)
					require.Positive(t, n)
				}
				s.end()
				want := text
				if c.is {
					want = "before\nafter, without an end"
				}
				require.Len(t, got, map[bool]int{true: 1}[c.is])
				require.True(t, want == rest.String(), "%d bytes instead of %d", rest.Len(), len(want))
			}
		})
	}
}

// TestSieve_LastLine checks a last line without a newline, and that other text is not held back.
func TestSieve_LastLine(t *testing.T) {
	t.Parallel()
	var rest bytes.Buffer
	n := 0
	s := &sieve{rest: &rest, take: func(*eventLine) { n++ }}
	_, _ = s.Write([]byte("progress..."))
	require.Equal(t, "progress...", rest.String())
	_, _ = s.Write([]byte("\n" + `{"omoi":"event","event_type":"agent.message"}`))
	s.end()
	require.Equal(t, 1, n)
}

func TestOutput_KeepsItsEnd(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := newOutput(&log)
	for range 50 {
		_, _ = o.Write(bytes.Repeat([]byte("a"), 10_000))
	}
	_, _ = o.Write([]byte("the end"))
	require.Equal(t, 500_007, log.Len())
	require.Len(t, o.text(nil), maxTail)
	require.True(t, strings.HasSuffix(o.text(strings.ToUpper), "THE END"))
}

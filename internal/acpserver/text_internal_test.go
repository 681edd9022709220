package acpserver

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextOf_NamesFiles(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]string{
		`{"type":"resource_link","uri":"file:///my%20app/docs/%C3%BCber%20uns.md#L2:4"}`:                 "docs/über uns.md#L2:4",
		`{"type":"resource_link","uri":"file:///other/a%20b"}`:                                           "/other/a b",
		`{"type":"resource_link","uri":"https://example.com/a%20b"}`:                                     "https://example.com/a%20b",
		`{"type":"resource","resource":{"uri":"file:///my%20app/a%20b","text":"x"}}`:                     "a b:\n```\nx\n```",
		`{"type":"resource","resource":{"uri":"file:///my%20app/a.png","blob":"AA==","mimeType":"x/y"}}`: "The attachment a.png is left out: it is not a text.",
	} {
		var b block
		require.NoError(t, json.Unmarshal([]byte(part), &b))
		got, err := textOf([]block{b}, "/my app/")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := textOf([]block{{Type: "image"}}, "/my app")
	require.ErrorContains(t, err, `a part of type "image"`)
}

package api

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

func TestStretch_IsBoundedInBytes(t *testing.T) {
	t.Parallel()
	event := ingest.StoredEvent{Data: make(json.RawMessage, streamBytes/4)}
	long := stretch{events: []ingest.StoredEvent{event, event, event, event, event}}
	require.Equal(t, stretch{long.events[:4], true}, long.light())
	require.Equal(t, stretch{long.events[:4], false}, stretch{events: long.events[:4]}.light())
	large := stretch{events: []ingest.StoredEvent{{Data: make(json.RawMessage, 2*streamBytes)}, event}}
	require.Equal(t, stretch{large.events[:1], true}, large.light(), "one always fits")
	require.Equal(t, stretch{}, stretch{}.light())
}

package api

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

func TestTaskReader_KeepsTheNewestFrameOfEachTask(t *testing.T) {
	t.Parallel()
	r := newTaskReader(nil, []string{"p"})
	for _, frame := range []string{"a1 ", "a2 "} {
		r.put(client.Task{ID: "a", ProjectID: "p"}, []byte(frame))
	}
	r.put(client.Task{ID: "b", ProjectID: "p"}, []byte("b1 "))
	r.put(client.Task{ID: "c", ProjectID: "other"}, []byte("c1 "))
	text, ready := r.take()
	require.Equal(t, "a2 b1 ", string(text))
	require.False(t, ready)
	r.begin()
	text, ready = r.take()
	require.Empty(t, text)
	require.True(t, ready)
}

// A slow reader costs a bounded amount of memory, and learns that changes were left out.
func TestTaskReader_TellsASlowReaderToReadTheListAgain(t *testing.T) {
	t.Parallel()
	r := newTaskReader(nil, nil)
	for n := range maxUnsent + 1 {
		r.put(client.Task{ID: fmt.Sprintf("task %d", n)}, []byte("x"))
	}
	r.put(client.Task{ID: "last"}, []byte("last"))
	text, _ := r.take()
	require.Equal(t, "event: reset\ndata: {}\n\nlast", string(text))
	text, _ = r.take()
	require.Empty(t, text)

	large := make([]byte, maxUnsentBytes/2)
	for _, id := range []string{"a", "b", "b", "a"} {
		r.put(client.Task{ID: id}, large)
	}
	text, _ = r.take()
	require.Len(t, text, 2*len(large))
	for _, id := range []string{"a", "b", "c"} {
		r.put(client.Task{ID: id}, large)
	}
	text, _ = r.take()
	require.Equal(t, "event: reset\ndata: {}\n\n", string(text))
}

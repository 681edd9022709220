package ingest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
)

// callers is how many requests are under way at a time.
const callers = 32

// usual is an event of the usual size, some 350 bytes.
func usual() ingest.Event {
	return ingest.Event{
		Type: "agent.tool_use",
		Data: json.RawMessage(`{"turn": 12, "tool": "Bash", "tool_use_id": "toolu_0123456789", "input": {"command": "` + strings.Repeat("x", 220) + `"}}`),
	}
}

// BenchmarkSingle posts single events of 200 sandboxes. The test's PostgreSQL does not
// sync to disk, so that figures of different machines mean little and those of one run compare.
func BenchmarkSingle(b *testing.B) {
	w := setup(b)
	intake, boxes, next := w.intake(ingest.IntakeConfig{}, nil), w.boxes(200), atomic.Int64{}
	b.SetParallelism(callers)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := intake.Single(context.Background(), boxes[int(next.Add(1))%len(boxes)], usual(), false)
			require.NoError(b, err)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkBatch50 posts batches of 50, each from a sender of its own.
func BenchmarkBatch50(b *testing.B) {
	const size = 50
	w := setup(b)
	intake, boxes, next := w.intake(ingest.IntakeConfig{}, nil), w.boxes(200), atomic.Int64{}
	list := make([]ingest.Event, size)
	for n := range list {
		list[n] = usual()
	}
	b.SetParallelism(callers)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		n := int(next.Add(1))
		for first := int64(1); pb.Next(); first += size {
			_, err := intake.Batch(context.Background(), boxes[n%len(boxes)], fmt.Sprint("spool ", n), first, list)
			require.NoError(b, err)
		}
	})
	b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "events/s")
}

func (b *bench) boxes(n int) []string {
	b.t.Helper()
	boxes := make([]string, n)
	for i := range boxes {
		boxes[i] = b.sandbox()
	}
	return boxes
}

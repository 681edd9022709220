package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/event"
)

// Goals of what an agent costs its workflow.
const (
	goalPerThousand = 30
	goalSignals     = 70
	goalHistory     = 1000
)

// measureFlood runs an hour of an agent, and a busy one, in less time: whatever omoi counts in
// seconds is scaled, the agent's own clock too.
func measureFlood(ctx context.Context, cfg Config, r *Report) (err error) {
	scale := float64(time.Hour) / float64(cfg.Hour)
	s, err := startServer(ctx, cfg, scaled(scale))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	m, err := newTaskMaker(ctx, s)
	if err != nil {
		return err
	}
	const second, busyRate, beatEvery = 1.0, 20.0, 30.0
	hour, err := m.speak(ctx, speech{scale: scale, rate: second, lasts: time.Hour, beat: beatEvery})
	if err != nil {
		return err
	}
	length := time.Duration(float64(cfg.Flood) / busyRate * float64(time.Second))
	busy, err := m.speak(ctx, speech{scale: scale, rate: busyRate, lasts: length, beat: beatEvery})
	if err != nil {
		return err
	}
	busyShare, hourShare := busy.perThousand(), hour.perThousand()
	quiet := float64(hour.past.signals - hour.milestones)
	r.add(
		Row{
			What: "signals per 1,000 events, 1 event a second for an hour", Goal: "at most 30",
			Measured: fmt.Sprintf("%.1f", hourShare), Value: hourShare, Verdict: atMost(hourShare, goalPerThousand),
		},
		Row{
			What: fmt.Sprintf("signals per 1,000 events, 20 events a second, %d events", busy.events),
			Goal: "at most 30", Measured: fmt.Sprintf("%.1f", busyShare), Value: busyShare,
			Verdict: atMost(busyShare, goalPerThousand),
		},
		Row{
			What: "signals per agent-hour, without milestones", Goal: "at most 70", Measured: fmt.Sprintf("%.0f", quiet),
			Value: quiet, Verdict: atMost(quiet, goalSignals),
		},
		Row{
			What: "history events per agent-hour", Goal: "at most 1,000", Measured: strconv.Itoa(hour.past.events),
			Value: float64(hour.past.events), Verdict: atMost(float64(hour.past.events), goalHistory),
		},
	)
	r.note("Signals and history", "Counted in the histories of real tasks on a real server. One hour ran in %s: the interval of digests, the timeouts and the agent's clock were divided by %.0f; the rate of milestones (3 at once, then one a second) was unchanged. The hour: %d events, %d signals with %d milestones, %d history events of the task workflow. The busy agent: %d events in %.0f s of its own time, %d signals, %d history events.",
		cfg.Hour, scale, hour.events, hour.past.signals, hour.milestones, hour.past.events, busy.events, length.Seconds(), busy.past.signals, busy.past.events)
	return nil
}

// scaled are the settings that omoi counts time with, divided.
func scaled(scale float64) map[string]string {
	settings := map[string]string{}
	for name, usual := range map[string]time.Duration{
		"OMOI_RELAY_DIGEST_INTERVAL": time.Minute, "OMOI_TASK_HEARTBEAT_TIMEOUT": 2 * time.Minute,
		"OMOI_TASK_NO_WORK_TIMEOUT": 15 * time.Minute,
		"OMOI_TASK_IDLE_TIMEOUT":    10 * time.Minute, "OMOI_TEST_AGENT_HEARTBEAT_INTERVAL": 30 * time.Second,
		"OMOI_TASK_ATTEMPT_TIMEOUT": 4 * time.Hour,
	} {
		settings[name] = max(time.Duration(float64(usual)/scale), 10*time.Millisecond).String()
	}
	settings["OMOI_TEST_RELAY_POLL_INTERVAL"] = max(time.Duration(float64(time.Second)/scale), 5*time.Millisecond).String()
	return settings
}

// speech is how an agent outside speaks, in its own time.
type speech struct {
	scale float64
	rate  float64 // events a second
	lasts time.Duration
	beat  float64 // seconds between heartbeats
}

// heard is what became of it.
type heard struct {
	events     int
	milestones int
	past       past
}

func (h heard) perThousand() float64 {
	return 1000 * float64(h.past.signals) / float64(max(h.events, 1)) //nolint:mnd // of a thousand
}

// speak carries out one task whose agent speaks so, in batches as an agent sends them.
func (m *taskMaker) speak(ctx context.Context, s speech) (heard, error) {
	out := heard{milestones: 2}
	taskID, box, err := m.give(ctx)
	if err != nil {
		return out, err
	}
	a := m.agent(box)
	if err := a.say(ctx, apiclient.CreateEventRequest{Type: event.AgentStarted}, apiclient.CreateEventRequest{Type: event.AgentHeartbeat}); err != nil {
		return out, err
	}
	if err := a.keepTalking(ctx, s); err != nil {
		return out, err
	}
	if err := a.say(ctx, apiclient.CreateEventRequest{Type: event.AgentCompleted, Data: json.RawMessage(`{"success":true}`)}); err != nil {
		return out, err
	}
	var result contract.TaskResult
	if err := m.temporal.GetWorkflow(ctx, contract.TaskWorkflowID(taskID), "").Get(ctx, &result); err != nil {
		return out, fmt.Errorf("carry out task %s: %w", taskID, err)
	}
	var first string
	if err := m.pool.QueryRow(ctx, `SELECT first_run_id FROM tasks WHERE id = $1`, taskID).Scan(&first); err != nil {
		return out, fmt.Errorf("find the first run of task %s: %w", taskID, err)
	}
	out.events = int(a.said)
	out.past, err = readPast(ctx, m.temporal, contract.TaskWorkflowID(taskID), first)
	return out, err
}

// keepTalking sends what is due every few milliseconds until the speech is over.
func (a *speaker) keepTalking(ctx context.Context, s speech) error {
	const most = 200 // events in a batch
	ticker := time.NewTicker(4 * tick)
	defer ticker.Stop()
	begun, sent, beats := time.Now(), 0, 1
	data := json.RawMessage(`{"tool":"Bash","tool_use_id":"toolu_01","input":{"command":"` + strings.Repeat("x", 220) + `"}}`)
	for over := false; !over; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		own := min(time.Duration(float64(time.Since(begun))*s.scale), s.lasts)
		over = own == s.lasts
		for due := int(own.Seconds() * s.rate); sent < due; {
			var batch []apiclient.CreateEventRequest
			for ; sent < due && len(batch) < most; sent++ {
				batch = append(batch, apiclient.CreateEventRequest{Type: event.AgentToolUse, Data: data})
			}
			if int(own.Seconds()/s.beat) >= beats {
				batch = append(batch, apiclient.CreateEventRequest{Type: event.AgentHeartbeat})
				beats++
			}
			if err := a.say(ctx, batch...); err != nil {
				return err
			}
		}
	}
	return nil
}

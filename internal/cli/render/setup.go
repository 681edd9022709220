package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setupEnded tells how the project's setup step went, with what it printed last where it failed.
func (l *Lines) setupEnded(d data) (what, text string, more []string) {
	took := "took " + Elapsed(time.Duration(d.float("duration_ms"))*time.Millisecond)
	if d.text("success") != "false" {
		return l.Dim("setup"), l.Dim(took), nil
	}
	how := "ended with exit code " + d.text("exit_code")
	if outcome := d.text("outcome"); outcome != "" && outcome != "exited" {
		how = "ended by " + OneLine(strings.ReplaceAll(outcome, "_", " "), textWidth)
	}
	first, more := l.block(d.text("output"))
	if first != "" {
		more = append([]string{first}, more...)
	}
	return l.Red("setup"), how + ", " + took, more
}

// roundsBegin tells of continuous mode, and where it ends at the latest.
func roundsBegin(d data) string {
	in := decode(d["limits"])
	var parts []string
	if n := int(in.float("max_iterations")); n > 0 {
		parts = append(parts, Count(n, "iteration"))
	}
	if usd := in.float("max_cost_usd"); usd > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", usd))
	}
	if s := in.float("max_duration_seconds"); s > 0 {
		parts = append(parts, Elapsed(time.Duration(s*float64(time.Second))))
	}
	if parts == nil {
		return "until its work passes"
	}
	return "until its work passes, for at most " + strings.Join(parts, ", ")
}

func (d data) float(key string) float64 {
	f, _ := strconv.ParseFloat(d.text(key), 64)
	return f
}

// pairs are all fields by name; what is nested stays JSON.
func (d data) pairs() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if value := d.text(key); value != "" {
			parts = append(parts, key+": "+value)
		}
	}
	return OneLine(strings.Join(parts, ", "), textWidth)
}

package bench

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine is where and when a report was made.
type Machine struct {
	Date    time.Time
	Command string
	Version string
	Load    string // of the last 1, 5 and 15 minutes, before the run
}

// NewMachine looks around.
func NewMachine(command, version string) Machine {
	return Machine{Date: time.Now().UTC(), Command: command, Version: version, Load: firstLine("/proc/loadavg", "")}
}

// firstLine is the first line of a file that begins with prefix, without it.
func firstLine(path, prefix string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			return strings.TrimSpace(strings.TrimLeft(text, "\t :"))
		}
	}
	return "unknown"
}

// Markdown is the report as docs/BENCHMARKS.md holds it.
func (r *Report) Markdown(m Machine) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nWritten by `make bench`; do not edit. Compared figures come from alternating rounds of " +
		"one run; " +
		"medians are given. Compare figures within one run only.\n\n")
	fmt.Fprintf(&b, "- date: %s, command `%s`, version %s\n", m.Date.Format("2006-01-02 15:04 UTC"), m.Command, m.Version)
	fmt.Fprintf(&b, "- machine: %s, %d processors, memory %s, %s/%s, %s\n", firstLine("/proc/cpuinfo", "model name"), runtime.NumCPU(),
		firstLine("/proc/meminfo", "MemTotal"), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(&b,
		"- load before the run: %s; servers, clients and baselines share the machine\n\n", m.Load)
	b.WriteString("| what | goal | measured | verdict |\n|---|---|---|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.What, row.Goal, row.Measured, row.Verdict)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", n.Title, strings.TrimSpace(n.Text))
	}
	return b.String()
}

// Text is the table for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "%-12s %-28s %-26s %s\n", or2(row.Verdict, "-"), row.Measured, or2(row.Goal, "-"), row.What)
	}
	return b.String()
}

func or2(text, def string) string {
	if text == "" {
		return def
	}
	return text
}

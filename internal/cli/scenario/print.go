package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
)

// Printer writes for people.
type Printer struct {
	W     io.Writer
	Style render.Style
}

// Begin writes the head of a scenario.
func (p Printer) Begin(c Scenario) {
	_, _ = fmt.Fprintf(p.W, "%s: %s\n", p.Style.Bold(c.Name), c.Title)
}

// Step writes what became of a step.
func (p Printer) Step(number, of int, s Step) {
	place := fmt.Sprintf("[%d/%d]", number, of)
	if number == 0 {
		place = "[end]"
	}
	_, _ = fmt.Fprintf(p.W, "%s  %s %-36s %6s  %s\n", p.verdict(s.Verdict), place, s.Name, render.Elapsed(seconds(s.Seconds)), render.Clean(s.Detail))
	if s.Next != "" {
		_, _ = fmt.Fprintf(p.W, "      Next: %s\n", render.Clean(s.Next))
	}
}

func (p Printer) verdict(v Verdict) string {
	switch v {
	case Pass:
		return p.Style.Green(string(v))
	case Fail:
		return p.Style.Red(string(v))
	case Skip:
	}
	return p.Style.Yellow(string(v))
}

// Summary is one line for each check.
func (p Printer) Summary(results []Result) {
	rows := [][]string{{"CHECK", "VERDICT", "PASSED", "SKIPPED", "FAILED", "TIME", "WHAT IT PROVES"}}
	for _, r := range results {
		sum := make(map[Verdict]int)
		for _, s := range r.Steps {
			sum[s.Verdict]++
		}
		rows = append(rows, []string{
			r.Name, p.verdict(r.Verdict), strconv.Itoa(sum[Pass]), strconv.Itoa(sum[Skip]), strconv.Itoa(sum[Fail]), render.Elapsed(seconds(r.Seconds)), r.Title,
		})
	}
	_, _ = fmt.Fprintf(p.W, "\n%s\n", p.Style.Table(rows))
	_, _ = fmt.Fprintln(p.W, "Providers of sandboxes have a check of their own: omoi check provider <name>")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// JSON writes results for programs.
func JSON(w io.Writer, results []Result) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(struct {
		OK     bool     `json:"ok"` // no FAIL
		Checks []Result `json:"checks"`
	}{Err(results) == nil, append([]Result{}, results...)}); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

package scenario

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/cli/render"
)

// Printer prints results: each step when it ends, or with JSON all results at the end.
type Printer struct {
	W     io.Writer
	Style render.Style
	JSON  bool
}

// Begin prints the head of a scenario.
func (p *Printer) Begin(c Scenario) {
	if !p.JSON {
		_, _ = fmt.Fprintf(p.W, "%s: %s\n", p.Style.Bold(c.Name), c.Title)
	}
}

// Step prints the outcome of a step. Number 0 is the cleanup; if of is 0, the total is unknown.
func (p *Printer) Step(number, of int, s Step) {
	if p.JSON {
		return
	}
	place := fmt.Sprintf("[%d/%d]", number, of)
	switch {
	case number == 0:
		place = "[end]"
	case of == 0:
		place = fmt.Sprintf("[%d]", number)
	}
	_, _ = fmt.Fprintf(p.W, "%s  %s %-36s %6s  %s\n", p.verdict(s.Verdict), place, s.Name, render.Elapsed(seconds(s.Seconds)), render.Clean(s.Detail))
	if s.Next != "" {
		_, _ = fmt.Fprintf(p.W, "      Next: %s\n", render.Clean(s.Next))
	}
}

func (p *Printer) verdict(v Verdict) string {
	switch v {
	case Pass:
		return p.Style.Green(string(v))
	case Fail:
		return p.Style.Red(string(v))
	case Skip:
	}
	return p.Style.Yellow(string(v))
}

// End prints a summary table, or all results as JSON.
func (p *Printer) End(results []Result) error {
	if p.JSON {
		return render.JSON(p.W, struct {
			OK     bool     `json:"ok"` // no step failed
			Checks []Result `json:"checks"`
		}{Err(results) == nil, append([]Result{}, results...)})
	}
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
	_, err := fmt.Fprintf(p.W, "\n%s", p.Style.Table(rows))
	return err
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

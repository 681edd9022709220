package supervise

import "fmt"

// cost matches if the attempt spends money while no file changes. Attempts of the modes exploration and validation
// change no files, so the rule skips them.
func cost(t *history, s Settings) *Finding {
	if t.over() || t.Mode == "exploration" || t.Mode == "validation" {
		return nil
	}
	since, calls := int64(0), 0
	if t.changed != nil {
		since = t.changed.Sequence
	}
	for _, st := range t.steps {
		if st.use.Sequence > since {
			calls++
		}
	}
	spent := spentSince(t, since)
	if calls < s.CostCalls || !spent.over(t, s) {
		return nil
	}
	return &Finding{
		Why:        fmt.Sprintf("%s and %d calls since a file was changed last.", spent, calls),
		Advice:     "You have spent much without changing anything. Decide on what you know, make the smallest change that helps, and test it.",
		Confidence: 0.7, Evidence: evidence(t.steps, 3),
	}
}

type spent struct {
	usd    float64
	tokens int64
}

func (p spent) String() string {
	if p.usd > 0 {
		return fmt.Sprintf("%.2f USD", p.usd)
	}
	return fmt.Sprintf("%d tokens", p.tokens)
}

// over reports whether p reaches the limit of the settings, or the share CostShare of the task's budget if that is
// less.
func (p spent) over(t *history, s Settings) bool {
	switch {
	case t.BudgetUSD > 0 && p.usd > 0:
		return p.usd >= min(s.CostUSD, t.BudgetUSD*s.CostShare)
	case p.usd > 0:
		return p.usd >= s.CostUSD
	}
	return p.tokens >= s.CostTokens
}

// spentSince returns the spending after an event. If the first events were not read, spending before the first known
// bill does not count.
func spentSince(t *history, sequence int64) spent {
	base, set := spent{}, t.Seen.First <= 1
	for i := range t.Events {
		e := &t.Events[i]
		if e.CostUSD == 0 && e.Tokens == 0 {
			continue
		}
		if e.Sequence <= sequence || !set {
			base, set = spent{e.CostUSD, e.Tokens}, true
		}
	}
	return spent{max(t.CostUSD-base.usd, 0), max(t.Tokens-base.tokens, 0)}
}

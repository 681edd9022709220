package claude

import "strings"

// tokens is what a message cost.
type tokens struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (t tokens) plus(o tokens) tokens {
	return tokens{t.Input + o.Input, t.Output + o.Output, t.CacheRead + o.CacheRead, t.CacheWrite + o.CacheWrite}
}

// over takes what a later event of the same message says; it says the whole, not what came on top.
func (t tokens) over(o tokens) tokens {
	return tokens{max(t.Input, o.Input), max(t.Output, o.Output), max(t.CacheRead, o.CacheRead), max(t.CacheWrite, o.CacheWrite)}
}

func (t tokens) data() map[string]any {
	return map[string]any{
		"input_tokens": t.Input, "output_tokens": t.Output, "cache_read_tokens": t.CacheRead, "cache_write_tokens": t.CacheWrite,
	}
}

// weight is what tokens cost in units of one token of input: the same for every model.
func (t tokens) weight() float64 {
	const output, read, write = 5, 0.1, 1.25
	return float64(t.Input) + output*float64(t.Output) + read*float64(t.CacheRead) + write*float64(t.CacheWrite)
}

// modelUse is what the program says of one model.
type modelUse struct {
	Input      int64   `json:"inputTokens"`              //nolint:tagliatelle // the program's name
	Output     int64   `json:"outputTokens"`             //nolint:tagliatelle // the program's name
	CacheRead  int64   `json:"cacheReadInputTokens"`     //nolint:tagliatelle // the program's name
	CacheWrite int64   `json:"cacheCreationInputTokens"` //nolint:tagliatelle // the program's name
	Cost       float64 `json:"costUSD"`                  //nolint:tagliatelle // the program's name
}

func sum(models map[string]modelUse) (t tokens, cost float64) {
	for _, m := range models {
		t, cost = t.plus(tokens{m.Input, m.Output, m.CacheRead, m.CacheWrite}), cost+m.Cost
	}
	return t, cost
}

// spent is what an attempt has cost. What a result has accounted for is settled; what messages
// have said since then is open.
type spent struct {
	Settled tokens  `json:"settled"`
	Cost    float64 `json:"cost_usd"`
	Open    tokens  `json:"open"`
	Model   string  `json:"model"`
	// Estimated: a part of Cost is, since the process that had spent it ended without a result.
	Estimated bool `json:"estimated"`
}

// account is the bill of one process of the program, whose sums go on from result to result.
type account struct {
	tokens tokens
	cost   float64
}

// settle takes in a result. A program that resumes a session may go on with that one's sums, or
// begin anew; newer ones say what came since their last result.
func (s *spent) settle(a *account, o outcome) {
	total, _ := sum(o.Models)
	fresh, cost := sum(o.Since)
	if len(o.Since) == 0 {
		fresh, cost = total.minus(a.tokens), o.Cost-a.cost
	}
	a.tokens, a.cost = total, o.Cost
	if fresh.weight() < s.Open.weight() { // what it did without a stream is not in its sums
		fresh = s.Open
	}
	s.Settled, s.Cost, s.Open = s.Settled.plus(fresh), s.Cost+max(cost, 0), tokens{}
}

// lose settles what no result will account for any more: its process has ended.
func (s *spent) lose() {
	s.Cost, s.Estimated = s.total()
	s.Settled, s.Open = s.all(), tokens{}
}

func (t tokens) minus(o tokens) tokens {
	return tokens{max(t.Input-o.Input, 0), max(t.Output-o.Output, 0), max(t.CacheRead-o.CacheRead, 0), max(t.CacheWrite-o.CacheWrite, 0)}
}

func (s *spent) all() tokens { return s.Settled.plus(s.Open) }

// total is the cost so far. What no result has accounted for is estimated by the price that was
// paid until then, or by the list; estimated says so.
func (s *spent) total() (usd float64, estimated bool) {
	open := s.Open.weight()
	if open == 0 {
		return s.Cost, s.Estimated
	}
	price := listPrice(s.Model)
	if settled := s.Settled.weight(); settled > 0 && s.Cost > 0 {
		price = s.Cost / settled
	}
	return s.Cost + open*price, true
}

// listPrice is about what a token of input costs; 0 of models that are not known.
func listPrice(model string) float64 {
	const million = 1e6
	for family, usd := range map[string]float64{"opus": 5, "sonnet": 3, "haiku": 1} {
		if strings.Contains(model, family) {
			return usd / million
		}
	}
	return 0
}

func (s *spent) data() map[string]any {
	data := s.all().data()
	cost, estimated := s.total()
	data["cost_usd"] = cost
	if estimated {
		data["cost_estimated"] = true
	}
	return data
}

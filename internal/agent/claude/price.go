package claude

import "strings"

// price is what a million tokens cost, in dollars.
type price struct{ input, output, read, write float64 }

// priceOf is the price by which the known versions of the program make their own bill, and the dearer one where they differ. Like
// them it looks for the model's name within what a provider calls it, as in us.anthropic.claude-opus-4-1-20250805-v1:0. The first that
// fits counts. The program knows none of any other model either: one version bills what is last here, the other 4 and 20.
func priceOf(model string) price {
	opus, sonnet := price{5, 25, 0.5, 6.25}, price{3, 15, 0.3, 3.75}
	for _, known := range []struct {
		model string
		price
	}{
		{"claude-opus-4-5", opus},
		{"claude-opus-4-6", opus},
		{"claude-opus-4-7", opus},
		{"claude-opus-4-8", opus},
		{"claude-opus-4", price{15, 75, 1.5, 18.75}},
		{"claude-fable-5", price{10, 50, 1, 12.5}},
		{"claude-sonnet-5", sonnet},
		{"claude-sonnet-4", sonnet},
		{"claude-3-7-sonnet", sonnet},
		{"claude-3-5-sonnet", sonnet},
		{"claude-haiku-4-5", price{1, 5, 0.1, 1.25}},
		{"claude-3-5-haiku", price{0.8, 4, 0.08, 1}},
	} {
		if strings.Contains(model, known.model) {
			return known.price
		}
	}
	return opus
}

// listed is what tokens of a model cost by the list.
func (t tokens) listed(model string) float64 {
	const million = 1e6
	p := priceOf(model)
	return (p.input*float64(t.Input) + p.output*float64(t.Output) + p.read*float64(t.CacheRead) + p.write*float64(t.CacheWrite)) / million
}

// plainName is a model without what the program adds to its name, such as [1m].
func plainName(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

// telling reports whether a bill of so much is one of tokens: of a few, it may be one of a fixed charge, as for a search.
func (t tokens) telling() bool { return t.weight() >= 10_000 }

// learn notes by how much the bill of each model differs from the list.
func (s *spent) learn(billed map[string]modelUse) {
	for model, use := range billed {
		if all := use.tokens(); all.telling() && use.Cost > 0 {
			s.rate(plainName(model), use.Cost/all.listed(plainName(model)))
		}
	}
}

// learnWhole does so for models that the bill names otherwise: by all of it.
func (s *spent) learnWhole(cost float64) {
	var list float64
	for model, open := range s.Open {
		list += open.listed(model)
	}
	if !s.open().telling() || cost <= 0 {
		return
	}
	for model := range s.Open {
		if _, known := s.Rates[model]; !known {
			s.rate(model, cost/list)
		}
	}
}

// rate holds a factor near the list: what else a bill has in it must not end the next turn.
func (s *spent) rate(model string, factor float64) {
	const most = 4
	if s.Rates == nil {
		s.Rates = map[string]float64{}
	}
	s.Rates[model] = min(max(factor, 1.0/most), most)
}

// estimate is what is open, by the last bill of the same model, or by the list.
func (s *spent) estimate() (usd float64) {
	for model, open := range s.Open {
		factor, known := s.Rates[model]
		if !known {
			factor = 1
		}
		usd += factor * open.listed(model)
	}
	return usd
}

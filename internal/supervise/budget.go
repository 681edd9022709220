package supervise

import (
	"errors"
	"sync"
)

// Budget bounds what asking models may cost together, such as in one cycle. It is safe for
// concurrent use. What is under way is reserved by what the dearest question so far came to, so
// that n questions at a time overshoot by what n questions cost more than that.
type Budget struct {
	mu       sync.Mutex
	tokens   int64 // 0: no limit
	usd      float64
	spent    ModelUse
	reserved ModelUse
	dearest  ModelUse
}

// NewBudget makes a budget; 0 means no limit.
func NewBudget(tokens int64, usd float64) *Budget { return &Budget{tokens: tokens, usd: usd} }

// ErrBudget is what a judgement fails with when the budget is spent.
var ErrBudget = errors.New("the budget of this cycle is spent")

// Spend calls ask, which asks a model, while the budget lasts, else it answers [ErrBudget]; ask answers what it used.
func (b *Budget) Spend(ask func() (ModelUse, error)) error {
	held, ok := b.take()
	if !ok {
		return ErrBudget
	}
	use, err := ask()
	b.settle(held, use)
	return err
}

func (b *Budget) take() (ModelUse, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	after := b.spent.Plus(b.reserved).Plus(b.dearest)
	if b.tokens > 0 && after.tokens() >= b.tokens || b.usd > 0 && after.CostUSD >= b.usd {
		return ModelUse{}, false
	}
	b.reserved = b.reserved.Plus(b.dearest)
	return b.dearest, true
}

func (b *Budget) settle(held, use ModelUse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved, b.spent = b.reserved.minus(held), b.spent.Plus(use)
	if use.tokens() > b.dearest.tokens() {
		b.dearest = use
	}
}

func (u ModelUse) tokens() int64 { return u.InputTokens + u.OutputTokens }

// Plus adds up.
func (u ModelUse) Plus(o ModelUse) ModelUse {
	return ModelUse{u.Calls + o.Calls, u.InputTokens + o.InputTokens, u.OutputTokens + o.OutputTokens, u.CostUSD + o.CostUSD}
}

func (u ModelUse) minus(o ModelUse) ModelUse {
	return ModelUse{u.Calls - o.Calls, u.InputTokens - o.InputTokens, u.OutputTokens - o.OutputTokens, u.CostUSD - o.CostUSD}
}

// PerCycle holds the model of the newest cycle that is under way in this process: its budget is that of the cycle. It is safe for
// concurrent use.
type PerCycle[M any] struct {
	Make func() M // nil: there is no model

	mu    sync.Mutex
	cycle string
	model M
}

// Of returns the model of a cycle; zero if there is none.
func (p *PerCycle[M]) Of(cycleID string) M {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Make != nil && p.cycle != cycleID {
		p.cycle, p.model = cycleID, p.Make()
	}
	return p.model
}

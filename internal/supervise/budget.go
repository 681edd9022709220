package supervise

import (
	"errors"
	"sync"
)

// Budget bounds the total tokens and USD that model calls may use, for example in one cycle. A Budget is safe for
// concurrent use. Each call in progress reserves the usage of the most expensive call so far, so n concurrent calls
// exceed the bound at most by their usage above n times that maximum.
type Budget struct {
	mu       sync.Mutex
	tokens   int64 // 0: unlimited
	usd      float64
	spent    ModelUse
	reserved ModelUse
	dearest  ModelUse
}

// NewBudget returns a budget of tokens and usd; 0 means unlimited.
func NewBudget(tokens int64, usd float64) *Budget { return &Budget{tokens: tokens, usd: usd} }

// ErrBudget is the error of an analysis for which the budget has no room left.
var ErrBudget = errors.New("the model budget of this cycle is used up")

// Spend calls ask, which calls a model and returns its usage. If the budget is used up, Spend returns [ErrBudget]
// instead.
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

// Plus returns the sum of u and o.
func (u ModelUse) Plus(o ModelUse) ModelUse {
	return ModelUse{u.Calls + o.Calls, u.InputTokens + o.InputTokens, u.OutputTokens + o.OutputTokens, u.CostUSD + o.CostUSD}
}

func (u ModelUse) minus(o ModelUse) ModelUse {
	return ModelUse{u.Calls - o.Calls, u.InputTokens - o.InputTokens, u.OutputTokens - o.OutputTokens, u.CostUSD - o.CostUSD}
}

// PerCycle holds one model for each cycle, so that a budget covers exactly one cycle. A process keeps the model of the
// cycle that asked last. A PerCycle is safe for concurrent use.
type PerCycle[M any] struct {
	Make func() M // nil: no model is configured

	mu    sync.Mutex
	cycle string
	model M
}

// Of returns the model of a cycle, or the zero value if no model is configured.
func (p *PerCycle[M]) Of(cycleID string) M {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Make != nil && p.cycle != cycleID {
		p.cycle, p.model = cycleID, p.Make()
	}
	return p.model
}

package candidate

import "github.com/omoi-dev/omoi/internal/task"

// Part returns the part of one of n candidates in a budget, so that all together stay within it. All have the same wall clock, since they
// start together. [task.CodeInvalid] if a part would be 0, which is no limit.
func Part(b task.Budget, n int) (task.Budget, error) {
	part := task.Budget{USD: b.USD / float64(n), Tokens: b.Tokens / int64(n), SandboxSeconds: b.SandboxSeconds / int64(n), WallClockS: b.WallClockS}
	switch {
	case b.Tokens > 0 && part.Tokens == 0:
		return part, task.Invalid("task.budget.tokens", "Invalid budget: %d tokens cannot be divided among %d candidates.", b.Tokens, n)
	case b.SandboxSeconds > 0 && part.SandboxSeconds == 0:
		return part, task.Invalid("task.budget.sandbox_s", "Invalid budget: %d seconds cannot be divided among %d candidates.", b.SandboxSeconds, n)
	}
	return part, nil
}

// Whole returns the limits of all candidates together. A limit that a candidate lacks is none.
func Whole(all []ComparedTask) (b task.Budget) {
	for n, c := range all {
		if n == 0 {
			b = c.Budget
			continue
		}
		b.USD, b.Tokens = sum(b.USD, c.Budget.USD), sum(b.Tokens, c.Budget.Tokens)
		b.SandboxSeconds = sum(b.SandboxSeconds, c.Budget.SandboxSeconds)
		if both := sum(b.WallClockS, c.Budget.WallClockS); both == 0 {
			b.WallClockS = 0
		} else {
			b.WallClockS = max(b.WallClockS, c.Budget.WallClockS)
		}
	}
	return b
}

// sum adds two limits; 0 is no limit.
func sum[N int64 | float64](a, b N) N {
	if a == 0 || b == 0 {
		return 0
	}
	return a + b
}

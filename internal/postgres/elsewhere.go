package postgres

import "fmt"

// Elsewhere is a sandbox that exists at a provider elsewhere.
type Elsewhere struct {
	SandboxID, Provider, TaskID string

	PerHour  float64 // below 0: no price is known
	Currency string
}

// String names the sandbox, its task, and its price an hour.
func (e Elsewhere) String() string {
	price := "its price is not configured (price." + e.Provider + ")"
	if e.PerHour >= 0 {
		price = fmt.Sprintf("%.4g %s an hour", e.PerHour, e.Currency)
	}
	if e.TaskID == "" {
		return fmt.Sprintf("%s sandbox %s: %s", e.Provider, e.SandboxID, price)
	}
	return fmt.Sprintf("%s sandbox %s of task %s: %s", e.Provider, e.SandboxID, e.TaskID, price)
}

package task

// Money is an amount in a currency.
type Money struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// Machine reports whether a machine of ours stands behind the row: one that has to be seen gone.
func (s Sandbox) Machine() bool { return s.Provider != ProviderExternal && s.Provider != ProviderBare }

package task

// SeenAgain reports whether the sandbox was there again after it had been verified gone: what was late was taken up after its deletion.
func (s Sandbox) SeenAgain() bool {
	return s.AdoptedAt != nil && s.DeletedAt != nil && s.AdoptedAt.After(*s.DeletedAt)
}

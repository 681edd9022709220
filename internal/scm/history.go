package scm

// History says how much of a repository's history goes into a sandbox. The zero value is all of it.
type History struct {
	// Whole is what a repository may weigh of which all history goes in, in bytes; 0: whatever it weighs.
	Whole int64
	// Depth is how many commits deep the history goes in of one that weighs more.
	Depth int
}

// Cuts reports whether of a repository of that weight only the newest history goes in.
func (h History) Cuts(bytes int64) bool { return h.Whole > 0 && bytes > h.Whole }

// Back is how deep the history goes in of a branch with so many commits since its base, so that the base is there.
func (h History) Back(ahead int) int { return max(h.Depth, ahead+1) }

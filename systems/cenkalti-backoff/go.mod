module github.com/sixthcopy/sixthcopy/systems/cenkalti-backoff

go 1.26.0

replace github.com/sixthcopy/sixthcopy => ../..

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/sixthcopy/sixthcopy v0.0.0-00010101000000-000000000000
)

module github.com/sixthcopy/sixthcopy/systems/stripe-go

go 1.26.0

replace github.com/sixthcopy/sixthcopy => ../..

require (
	github.com/sixthcopy/sixthcopy v0.0.0-00010101000000-000000000000
	github.com/stripe/stripe-go/v85 v85.0.0
)

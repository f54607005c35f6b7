module github.com/sixthcopy/sixthcopy/systems/go-retryablehttp

go 1.26.0

replace github.com/sixthcopy/sixthcopy => ../..

require (
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/sixthcopy/sixthcopy v0.0.0-00010101000000-000000000000
)

require github.com/hashicorp/go-cleanhttp v0.5.2 // indirect

"""What lesson 10 looks into: a trained model (`dates`) and broken attentions (`attentions`)."""
